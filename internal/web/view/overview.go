package view

// Overview is the state of the site, as lines of text.
type Overview struct{ Site, Work, Load []OverviewLine }

// OverviewLine is a value with its name. Bad marks one that an operator should look at.
type OverviewLine struct {
	Name, Value string
	Bad         bool
}
