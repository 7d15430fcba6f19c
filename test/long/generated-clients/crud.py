# Creates, reads, changes and deletes an edge with a route and a module, with the client that openapi-generator made.
import os

import openapi_client as postern

config = postern.Configuration(host=os.environ["POSTERN_API_URL"], access_token=os.environ["POSTERN_API_KEY"])
client = postern.ApiClient(config)
edges, routes = postern.HttpsEdgesApi(client), postern.HttpsEdgeRoutesApi(client)
destinations = postern.EventDestinationsApi(client)
compression = postern.HttpsEdgeRoutesCompressionApi(client)

edge = edges.https_edges_create("2", https_edge_create=postern.HttpsEdgeCreate(hostports=["python.localhost:443"]))
route = routes.https_edge_routes_create(
    edge.id, "2", postern.HttpsEdgeRouteCreate(match_type="path_prefix", match="/")
)
off = postern.CompressionModuleReplace(enabled=False)
compression.https_edge_routes_compression_replace(edge.id, route.id, "2", compression_module_replace=off)
assert edges.https_edges_get(edge.id, "2").routes[0].compression.enabled is False
updated = edges.https_edges_update(edge.id, "2", https_edge_update=postern.HttpsEdgeUpdate(description="changed"))
assert (updated.description, updated.hostports) == ("changed", ["python.localhost:443"])
assert len(edges.https_edges_list("2", limit=100).https_edges) == 1
assert destinations.event_destinations_list("2").event_destinations == []
compression.https_edge_routes_compression_delete(edge.id, route.id, "2")
edges.https_edges_delete(edge.id, "2")
try:
    edges.https_edges_get(edge.id, "2")
    raise AssertionError("the edge is still there")
except postern.exceptions.NotFoundException:
    print("done")
