import theme from 'vitepress/theme'
import Drawing from './Drawing.vue'
import './site.css'

export default {
  extends: theme,
  enhanceApp({ app }) {
    app.component('Drawing', Drawing)
  },
}
