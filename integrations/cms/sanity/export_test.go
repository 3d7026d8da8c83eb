package sanity

// SpeedUp makes a watch a hundred times as fast, so tests do not wait for minutes.
func (d *Driver) SpeedUp() { d.haste = 100 }
