// Package picture converts uploaded files into pictures that are safe to serve: upright, in sRGB,
// without metadata, in the sizes that pages need.
//
// Every file is decoded and encoded again, so that hidden data in the file (positions, thumbnails,
// scripts, other files) is lost.
//
//  1. [Maker.Make] reads the header with parse, which determines the memory for decoding.
//  2. turns.Queue.Acquire waits for this share of the memory budget.
//  3. job.source decodes the file, through a reader with a deadline.
//  4. shrink scales, profile.convert converts the colors to sRGB, upright turns the result.
//  5. job.encode writes each size.
//
// # Limits
//
// A file has at most [MaxBytes] and [MaxPixels]; a file that would take more memory than the
// whole budget is too large as well, such as a progressive JPEG of 30 megapixels. The memory is
// computed from the header, which the decoders cannot exceed. Time is limited where decoders
// read, encoders write and rows are scaled. Work ends at most a second or two late, because a
// decoder that has read the whole file may still finish decoding.
//
// Profiles with a matrix and curves, which cameras and phones write, are applied. Table-based
// profiles, as for printers, are not applied, and CMYK is converted without a profile. Only the first
// picture of an animated WebP or PNG is used.
package picture
