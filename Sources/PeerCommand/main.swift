// begins soon
