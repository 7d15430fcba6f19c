// Creates, reads, changes and deletes an edge with a route and a module, with the client that openapi-generator made.
package main

import (
	"context"
	"fmt"
	"os"

	openapi "github.com/GIT_USER_ID/GIT_REPO_ID"
)

func main() {
	config := openapi.NewConfiguration()
	config.Servers[0].URL = os.Getenv("POSTERN_API_URL")
	api := openapi.NewAPIClient(config)
	ctx := context.WithValue(context.Background(), openapi.ContextAccessToken, os.Getenv("POSTERN_API_KEY"))

	edge, _, err := api.HttpsEdgesAPI.HttpsEdgesCreate(ctx).ServiceVersion("2").
		HttpsEdgeCreate(openapi.HttpsEdgeCreate{Hostports: []string{"go.localhost:443"}}).Execute()
	check(err)
	route, _, err := api.HttpsEdgeRoutesAPI.HttpsEdgeRoutesCreate(ctx, edge.Id).ServiceVersion("2").
		HttpsEdgeRouteCreate(*openapi.NewHttpsEdgeRouteCreate("path_prefix", "/")).Execute()
	check(err)
	off := false
	_, _, err = api.HttpsEdgeRoutesCompressionAPI.HttpsEdgeRoutesCompressionReplace(ctx, edge.Id, route.Id).ServiceVersion("2").
		CompressionModuleReplace(openapi.CompressionModuleReplace{Enabled: &off}).Execute()
	check(err)
	read, _, err := api.HttpsEdgesAPI.HttpsEdgesGet(ctx, edge.Id).ServiceVersion("2").Execute()
	check(err)
	module := read.Routes[0].Compression.Get()
	expect(module != nil && !module.Enabled, "the module")
	changed := "changed"
	updated, _, err := api.HttpsEdgesAPI.HttpsEdgesUpdate(ctx, edge.Id).ServiceVersion("2").
		HttpsEdgeUpdate(openapi.HttpsEdgeUpdate{Description: &changed}).Execute()
	check(err)
	expect(updated.Description == "changed" && updated.Hostports[0] == "go.localhost:443", "the update")
	list, _, err := api.HttpsEdgesAPI.HttpsEdgesList(ctx).ServiceVersion("2").Limit(100).Execute()
	check(err)
	expect(len(list.HttpsEdges) == 1, "the list")
	destinations, _, err := api.EventDestinationsAPI.EventDestinationsList(ctx).ServiceVersion("2").Execute()
	check(err)
	expect(len(destinations.EventDestinations) == 0, "the destinations")
	_, err = api.HttpsEdgeRoutesCompressionAPI.HttpsEdgeRoutesCompressionDelete(ctx, edge.Id, route.Id).ServiceVersion("2").Execute()
	check(err)
	_, err = api.HttpsEdgesAPI.HttpsEdgesDelete(ctx, edge.Id).ServiceVersion("2").Execute()
	check(err)
	_, response, err := api.HttpsEdgesAPI.HttpsEdgesGet(ctx, edge.Id).ServiceVersion("2").Execute()
	expect(err != nil && response.StatusCode == 404, "the deletion")
	fmt.Println("done")
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func expect(isTrue bool, what string) {
	if !isTrue {
		panic("wrong: " + what)
	}
}
