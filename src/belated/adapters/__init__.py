"""belated's models under the interfaces of other libraries; each module needs its library."""
