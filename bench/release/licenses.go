package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

var licenseFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice)([.-].*)?$`)

// licenses writes the licences of all that is linked into a program, which those who
// pass the program on must pass on too.
func licenses(out io.Writer, program string) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return err
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return fmt.Errorf("go env GOROOT: %w", err)
	}
	dirs := map[string]string{"Go " + info.GoVersion: strings.TrimSpace(string(root))}
	names := []string{"Go " + info.GoVersion}
	for _, module := range info.Deps {
		if module.Replace != nil {
			module = module.Replace
		}
		name := module.Path + "@" + module.Version
		if dirs[name], err = moduleDir(name); err != nil {
			return err
		}
		names = append(names, name)
	}
	fmt.Fprintln(out, "retwis contains these libraries, under the licences below.")
	for _, name := range names {
		if err := license(out, name, dirs[name]); err != nil {
			return err
		}
	}
	return nil
}

// moduleDir returns the directory of a module, downloading it if need be.
func moduleDir(name string) (string, error) {
	text, err := exec.Command("go", "mod", "download", "-json", name).Output()
	if err != nil {
		return "", fmt.Errorf("go mod download %s: %w", name, err)
	}
	var module struct{ Dir string }
	return module.Dir, errors.Join(json.Unmarshal(text, &module), err)
}

func license(out io.Writer, name, dir string) error {
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	found := false
	for _, file := range files {
		if file.IsDir() || !licenseFile.MatchString(file.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, file.Name()))
		if err != nil {
			return err
		}
		found = true
		fmt.Fprintf(out, "\n== %s: %s\n\n%s\n", name, file.Name(), bytes.TrimSpace(text))
	}
	if !found {
		return fmt.Errorf("%s has no licence in %s", name, dir)
	}
	return nil
}
