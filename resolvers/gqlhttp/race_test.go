//go:build race

package gqlhttp_test

// slack is how many times longer things may take under the race detector.
const slack = 20
