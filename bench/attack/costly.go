package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/png"
	"mime/multipart"
	"net/http"
	"net/url"
	"time"

	"retwis/bench/measure"
)

// searches sends other words each time, so that no answer is one of before.
func searches(ctx context.Context, s *site) (result, error) {
	bot, visitor := s.visitor(stranger), s.visitor(owner)
	var by map[int]int
	var failed error
	seen := beside(func() {
		by, failed = flood(func(i int) (int, error) {
			return getting(ctx, bot, "/search?q="+url.QueryEscape(fmt.Sprintf("the -coffee -word%d", i)))()
		})
	}, 250*time.Millisecond, getting(ctx, visitor, "/search?q=coffee"))
	found, refused := by[http.StatusOK], by[http.StatusTooManyRequests]
	return result{
		fmt.Sprintf("%d searches, %d refused; slowest other search %d ms", found, refused, seen.worst.Milliseconds()),
		found > 0 && found <= 310 && refused > 0 && len(by) == 2 && seen.good == seen.asked && seen.worst <= time.Second,
	}, failed
}

// blank is a picture of one colour: however many pixels it has, the file is small.
func blank(width, height int) ([]byte, error) {
	var file bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	err := encoder.Encode(&file, image.NewGray(image.Rect(0, 0, width, height)))
	return file.Bytes(), err
}

// upload sends a picture, as the script of the composer does.
func upload(ctx context.Context, v *measure.Visitor, file []byte) (int, error) {
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	part, err := w.CreateFormFile("file", "picture.png")
	if err == nil {
		_, err = part.Write(file)
	}
	if err = errors.Join(err, w.Close()); err != nil {
		return 0, err
	}
	a, err := v.Send(ctx, http.MethodPost, "/media", w.FormDataContentType(), &form)
	return a.Status, err
}

func uploads(ctx context.Context, s *site) (result, error) {
	bot, err := s.member(ctx, "bot", stranger)
	if err != nil {
		return result{}, err
	}
	ada, err := s.member(ctx, "ada", owner)
	if err != nil {
		return result{}, err
	}
	large, err := blank(6500, 6000)
	small, err2 := blank(800, 600)
	if err = errors.Join(err, err2); err != nil {
		return result{}, err
	}
	var by map[int]int
	var failed error
	seen := beside(
		func() { by, failed = flood(func(int) (int, error) { return upload(ctx, bot, large) }) },
		250*time.Millisecond, func() (int, error) { return upload(ctx, ada, small) },
	)
	resident, err := s.resident()
	stored, limited, busy := by[http.StatusOK], by[http.StatusTooManyRequests], by[http.StatusServiceUnavailable]
	return result{
		fmt.Sprintf("%d stored, %d refused; slowest other upload %d ms; %.0f MB", stored, limited+busy, seen.worst.Milliseconds(), resident),
		stored > 0 && stored <= 32 && limited+busy > 0 && seen.good == seen.asked && seen.worst <= 2*time.Second && resident < mostMemory,
	}, errors.Join(err, failed)
}
