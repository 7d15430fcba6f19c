// Creates, reads, changes and deletes an edge with a route and a module, with the client that openapi-generator made.
package org.openapitools.client;

import java.util.Collections;
import org.openapitools.client.api.EventDestinationsApi;
import org.openapitools.client.api.HttpsEdgeRoutesApi;
import org.openapitools.client.api.HttpsEdgeRoutesCompressionApi;
import org.openapitools.client.api.HttpsEdgesApi;
import org.openapitools.client.model.CompressionModuleReplace;
import org.openapitools.client.model.HttpsEdge;
import org.openapitools.client.model.HttpsEdgeCreate;
import org.openapitools.client.model.HttpsEdgeRouteCreate;
import org.openapitools.client.model.HttpsEdgeUpdate;

public class Crud {
  public static void main(String[] arguments) throws ApiException {
    ApiClient client = new ApiClient();
    client.setBasePath(System.getenv("POSTERN_API_URL"));
    client.setBearerToken(System.getenv("POSTERN_API_KEY"));
    HttpsEdgesApi edges = new HttpsEdgesApi(client);
    HttpsEdgeRoutesApi routes = new HttpsEdgeRoutesApi(client);
    HttpsEdgeRoutesCompressionApi compression = new HttpsEdgeRoutesCompressionApi(client);

    String edge =
        edges.httpsEdgesCreate("2", null, new HttpsEdgeCreate().hostports(Collections.singletonList("java.localhost:443"))).getId();
    HttpsEdgeRouteCreate wanted =
        new HttpsEdgeRouteCreate().matchType(HttpsEdgeRouteCreate.MatchTypeEnum.PATH_PREFIX).match("/");
    String route = routes.httpsEdgeRoutesCreate(edge, "2", wanted, null).getId();
    compression.httpsEdgeRoutesCompressionReplace(edge, route, "2", null, null, new CompressionModuleReplace().enabled(false));
    expect(!edges.httpsEdgesGet(edge, "2", null).getRoutes().get(0).getCompression().getEnabled(), "the module");
    HttpsEdge updated = edges.httpsEdgesUpdate(edge, "2", null, null, new HttpsEdgeUpdate().description("changed"));
    expect(updated.getDescription().equals("changed"), "the update");
    expect(updated.getHostports().equals(Collections.singletonList("java.localhost:443")), "the hosts");
    expect(edges.httpsEdgesList("2", 100, null, null, null, null, null).getHttpsEdges().size() == 1, "the list");
    EventDestinationsApi destinations = new EventDestinationsApi(client);
    expect(destinations.eventDestinationsList("2", null, null, null, null, null, null).getEventDestinations().isEmpty(), "the destinations");
    compression.httpsEdgeRoutesCompressionDelete(edge, route, "2", null, null);
    edges.httpsEdgesDelete(edge, "2", null, null);
    try {
      edges.httpsEdgesGet(edge, "2", null);
      throw new AssertionError("the edge is still there");
    } catch (ApiException gone) {
      expect(gone.getCode() == 404, "the deletion");
    }
    System.out.println("done");
  }

  private static void expect(boolean isTrue, String what) {
    if (!isTrue) throw new AssertionError("wrong: " + what);
  }
}
