package httpserver

import "github.com/mileusna/useragent"

// maxAgent limits how much of a User-Agent is read, in bytes.
const maxAgent = 400

// DeviceName returns a short name of the client in a User-Agent header, such as "Firefox on Linux",
// or "" if the client is unknown.
func DeviceName(text string) string {
	if len(text) > maxAgent {
		text = text[:maxAgent]
	}
	agent := useragent.Parse(text)
	known := agent.Desktop || agent.Mobile || agent.Tablet
	switch {
	case !known || agent.Bot || agent.Name == "":
		return ""
	case agent.OS == "":
		return agent.Name
	}
	return agent.Name + " on " + agent.OS
}
