package main

import (
	"debug/buildinfo"
	"fmt"
	"io"
	"time"

	"github.com/CycloneDX/cyclonedx-go"
)

// sbom writes which modules a program was built of, as the linker recorded them in it.
func sbom(out io.Writer, program, version string, when time.Time) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return err
	}
	if version == "" {
		version = info.Main.Version
	}
	setting := map[string]string{}
	for _, s := range info.Settings {
		setting[s.Key] = s.Value
	}
	name := fmt.Sprintf("pkg:golang/%s@%s?goos=%s&goarch=%s", info.Path, version, setting["GOOS"], setting["GOARCH"])
	parts := []cyclonedx.Component{{
		BOMRef: "pkg:golang/stdlib@" + info.GoVersion, Type: cyclonedx.ComponentTypeLibrary,
		Name: "stdlib", Version: info.GoVersion, PackageURL: "pkg:golang/stdlib@" + info.GoVersion,
	}}
	for _, module := range info.Deps {
		if module.Replace != nil {
			module = module.Replace
		}
		url := "pkg:golang/" + module.Path + "@" + module.Version
		parts = append(parts, cyclonedx.Component{
			BOMRef: url, Type: cyclonedx.ComponentTypeLibrary, Name: module.Path, Version: module.Version, PackageURL: url,
			// The sum of go.sum, with which the go command verifies a module.
			Properties: &[]cyclonedx.Property{{Name: "go:sum", Value: module.Sum}},
		})
	}
	var refs []string
	for _, part := range parts {
		refs = append(refs, part.BOMRef)
	}
	bom := cyclonedx.NewBOM()
	bom.Metadata = &cyclonedx.Metadata{
		Timestamp: when.Format(time.RFC3339),
		Component: &cyclonedx.Component{
			BOMRef: name, Type: cyclonedx.ComponentTypeApplication, Name: "retwis", Version: version, PackageURL: name,
			Licenses: &cyclonedx.Licenses{{License: &cyclonedx.License{ID: "MIT"}}},
		},
	}
	bom.Components = &parts
	bom.Dependencies = &[]cyclonedx.Dependency{{Ref: name, Dependencies: &refs}}
	return cyclonedx.NewBOMEncoder(out, cyclonedx.BOMFileFormatJSON).SetPretty(true).Encode(bom)
}
