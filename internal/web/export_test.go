package web

// LoggedPath is a path as the logs of a site with these routes have it.
func LoggedPath(path string, patterns ...string) string {
	var a accessLog
	for _, pattern := range patterns {
		a.secret = append(a.secret, secretPrefix(pattern)...)
	}
	return a.path(path)
}
