// Stands in for the device library of a backend where no path needs one: see org.ep4j.spi.DevicePosted. None of these is called.
EP_DEVICE void ep_posted_put_wave(char*, const char*, u64, int) {}
EP_DEVICE void ep_posted_put_message_wave(char*, const char*, u64, int) {}
EP_DEVICE void ep_posted_put_signal_wave(char*, const char*, u64, u64*, u64, int) {}
EP_DEVICE void ep_posted_signal(u64*, u64, int) {}
EP_DEVICE void ep_posted_quiet() {}
