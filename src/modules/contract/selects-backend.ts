/** A capability, of the module that names the backend of a route. */
export interface SelectsBackend {
  /** Id of the backend, of any kind, that receives the requests. Read when the route is compiled. */
  readonly backendId?: string;
}
