package web

import (
	"encoding/json"
	"fmt"
	"net/http"

	"retwis/internal/web/request"
	"retwis/internal/web/static"
	"retwis/internal/web/view"
)

// manifest serves GET /site.webmanifest, which lets browsers install the site:
// https://www.w3.org/TR/appmanifest/.
func manifest(req *request.Request) error {
	type icon struct {
		Address string `json:"src"`
		Sizes   string `json:"sizes"`
		Type    string `json:"type"`
	}
	site := req.Frame("").Site
	body, err := json.Marshal(struct {
		ID          string `json:"id"`
		Name        string `json:"name"`
		Description string `json:"description,omitempty"`
		Start       string `json:"start_url"`
		Display     string `json:"display"`
		Background  string `json:"background_color"`
		Theme       string `json:"theme_color"`
		Icons       []icon `json:"icons"`
	}{
		ID: "/", Name: site.Name, Description: site.Description, Start: "/home", Display: "standalone",
		Background: view.PageColor, Theme: view.PageColor,
		Icons: []icon{
			{static.Address("favicon.svg"), "any", "image/svg+xml"},
			{static.Address("icon-192.png"), "192x192", "image/png"},
			{static.Address("icon-512.png"), "512x512", "image/png"},
		},
	})
	if err != nil {
		return fmt.Errorf("web: %w", err)
	}
	request.SendCached(req, "application/manifest+json", body)
	return nil
}

// icon serves GET /favicon.ico, which some clients request without reading a page.
func icon(req *request.Request) error {
	body, err := static.Read("icon-192.png")
	if err != nil {
		return fmt.Errorf("web: %w", err)
	}
	request.SendCached(req, "image/png", body)
	return nil
}

// toSecurity serves GET /.well-known/change-password, which password managers open, with a redirect
// to the security settings: https://w3c.github.io/webappsec-change-password-url/.
func toSecurity(req *request.Request) error { return req.Redirect(view.SecurityPath) }

// offline serves the page that browsers cache and show while they have no connection.
func offline(req *request.Request) error {
	req.NoIndex()
	return req.Render(http.StatusOK, view.OfflinePage(req.VisitorFrame(req.T("You're offline"))))
}

// changeLanguage sets the language in which the browser of the request gets pages.
func changeLanguage(req *request.Request) error {
	req.KeepLanguage(req.R.PostFormValue("language"))
	return req.Redirect(req.ReturnTo("/"))
}

// serviceWorker serves the script that shows the offline page. The script is at the root so that
// its scope includes all pages.
func serviceWorker(req *request.Request) error {
	body, err := static.Read("sw.js")
	if err != nil {
		return fmt.Errorf("web: %w", err)
	}
	request.SendCached(req, "text/javascript; charset=utf-8", body)
	return nil
}
