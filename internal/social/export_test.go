package social

// RenewClaims does at once what happens every ten seconds.
func (s *Service) RenewClaims() { s.renew(s.background) }

// Claims is how many fan-outs this process works on.
func (s *Service) Claims() int { return len(s.claims.all()) }
