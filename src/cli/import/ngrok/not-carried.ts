/** Why a field of the retired API has no place in Postern, by its name. */
export const NOT_CARRIED: Readonly<Record<string, string>> = {
  circuit_breaker: 'Postern has no such module',
  request_headers: 'Postern has no such module: set the headers in your service',
  response_headers: 'Postern has no such module: set the headers in your service',
  webhook_verification: 'Postern has no such module: verify webhooks in your service',
  saml: 'Postern has no such module: use a login of oidc or oauth',
  websocket_tcp_converter: 'Postern has no such module',
  user_agent_filter: 'Postern has no such module',
  traffic_policy: 'Postern has no policies: use its modules',
  policy: 'Postern has no policies: use its modules',
};

export const NO_SUCH_FIELD = 'Postern has no such field';

/** Modules that decide who gets in. A route that loses one must not be open to everybody. */
export const PROTECTIONS: readonly string[] = [
  'webhook_verification',
  'saml',
  'user_agent_filter',
  'traffic_policy',
  'policy',
];
