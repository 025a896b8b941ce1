package httpserver

import "github.com/mileusna/useragent"

// maxAgent bounds what is read of a User-Agent, in bytes.
const maxAgent = 400

// DeviceName is what a client calls itself in its User-Agent, so short that people recognize
// it: "Firefox on Linux". It is empty where that is not known.
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
