package fanout

// Tags returns the tags of a text.
func Tags(body string) []string { return nil }
