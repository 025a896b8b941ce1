package model

import "retwis/model/internal/query"

// Explanation is the plan of a query: its index scans, and how the order is produced. String
// formats it in human-readable form.
type Explanation = query.Explanation

// Step is one index scan of an Explanation.
type Step = query.Step
