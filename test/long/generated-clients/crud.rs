//! Creates, reads, changes and deletes an edge with a route and a module, with the client that openapi-generator made.
use openapi::apis::event_destinations_api::event_destinations_list;
use openapi::apis::https_edge_routes_api::https_edge_routes_create;
use openapi::apis::https_edge_routes_compression_api::{
    https_edge_routes_compression_delete, https_edge_routes_compression_replace,
};
use openapi::apis::https_edges_api::{
    https_edges_create, https_edges_delete, https_edges_get, https_edges_list, https_edges_update,
};
use openapi::apis::{configuration::Configuration, Error};
use openapi::models::{CompressionModuleReplace, HttpsEdgeCreate, HttpsEdgeRouteCreate, HttpsEdgeUpdate};

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let config = Configuration {
        base_path: std::env::var("POSTERN_API_URL").unwrap(),
        bearer_access_token: std::env::var("POSTERN_API_KEY").ok(),
        ..Configuration::default()
    };
    let create = HttpsEdgeCreate { hostports: Some(vec!["rust.localhost:443".into()]), ..HttpsEdgeCreate::default() };
    let edge = https_edges_create(&config, "2", None, Some(create)).await.unwrap();
    let wanted = HttpsEdgeRouteCreate {
        match_type: serde_json::from_str("\"path_prefix\"").unwrap(),
        r#match: "/".into(),
        ..HttpsEdgeRouteCreate::default()
    };
    let route = https_edge_routes_create(&config, &edge.id, "2", wanted, None).await.unwrap();
    let off = CompressionModuleReplace { enabled: Some(false) };
    https_edge_routes_compression_replace(&config, &edge.id, &route.id, "2", None, None, Some(off)).await.unwrap();
    let read = https_edges_get(&config, &edge.id, "2", None).await.unwrap();
    assert!(!read.routes[0].compression.as_ref().unwrap().enabled);
    let change = HttpsEdgeUpdate { description: Some("changed".into()), ..HttpsEdgeUpdate::default() };
    let updated = https_edges_update(&config, &edge.id, "2", None, None, Some(change)).await.unwrap();
    assert_eq!((updated.description.as_str(), updated.hostports[0].as_str()), ("changed", "rust.localhost:443"));
    assert_eq!(https_edges_list(&config, "2", Some(100), None, None, None, None, None).await.unwrap().https_edges.len(), 1);
    assert!(event_destinations_list(&config, "2", None, None, None, None, None, None).await.unwrap().event_destinations.is_empty());
    https_edge_routes_compression_delete(&config, &edge.id, &route.id, "2", None, None).await.unwrap();
    https_edges_delete(&config, &edge.id, "2", None, None).await.unwrap();
    match https_edges_get(&config, &edge.id, "2", None).await {
        Err(Error::ResponseError(response)) => assert_eq!(response.status.as_u16(), 404),
        other => panic!("the edge is still there: {other:?}"),
    }
    println!("done");
}
