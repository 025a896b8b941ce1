package web

// landing says what this is to whoever does not know it yet.
func (s *Server) landing(v *visit) error {
	if v.signed {
		return v.redirect("/home")
	}
	return v.show(200, landingPage(v.page("Retwis")))
}
