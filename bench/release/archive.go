package main

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"
)

// archive writes a directory to a .tar.gz, under another name if there is one. The
// files belong to root and have the same time, and come in the order of their names.
func archive(file, dir, name string, when time.Time) (err error) {
	if name == "" {
		name = filepath.Base(dir)
	}
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	zip, err := gzip.NewWriterLevel(out, gzip.BestCompression)
	if err != nil {
		return err
	}
	files := tar.NewWriter(zip)
	err = filepath.WalkDir(dir, func(found string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		below, err := filepath.Rel(dir, found)
		if err != nil {
			return err
		}
		return addFile(files, found, path.Join(name, filepath.ToSlash(below)), entry, when)
	})
	return errors.Join(err, files.Close(), zip.Close())
}

func addFile(files *tar.Writer, from, name string, entry fs.DirEntry, when time.Time) error {
	info, err := entry.Info()
	if err != nil {
		return err
	}
	header := &tar.Header{Name: name, ModTime: when, Mode: 0o644, Uname: "root", Gname: "root", Format: tar.FormatPAX}
	switch {
	case info.IsDir():
		header.Typeflag, header.Name, header.Mode = tar.TypeDir, name+"/", 0o755
		return files.WriteHeader(header)
	case !info.Mode().IsRegular():
		return errors.New(from + " is neither a file nor a directory")
	case info.Mode()&0o100 != 0:
		header.Mode = 0o755
	}
	header.Typeflag, header.Size = tar.TypeReg, info.Size()
	if err := files.WriteHeader(header); err != nil {
		return err
	}
	content, err := os.Open(from)
	if err != nil {
		return err
	}
	defer content.Close()
	_, err = io.Copy(files, content)
	return err
}
