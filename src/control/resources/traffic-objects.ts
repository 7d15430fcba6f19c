import Type, { type TObject, type TSchema } from 'typebox';
import { modules } from '../../modules/registry.ts';

const text = (description: string): TSchema => Type.String({ description });
const textOrNull = (description: string): TSchema => Type.Union([Type.String(), Type.Null()], { description });
const number = (description: string): TSchema => Type.Number({ description });

export const nodeField = text('Name of the node that the client reached.');

const shared = {
  client_ip: text('IP address of the client.'),
  node: nodeField,
  tunnel_node: textOrNull('Name of the node that passed it on to its agent; null if no other node was involved.'),
  bytes_in: number('Bytes that the client sent.'),
  bytes_out: number('Bytes that the client received.'),
  duration_ms: number('How long it took.'),
};

/** The decision of every module that decides about requests. */
const decisions: Readonly<Record<string, TSchema>> = Object.fromEntries(
  modules
    .filter(({ decidesAccess, reasons }) => decidesAccess || reasons !== undefined)
    .map(({ name, otherDecisions = [] }) => [
      `${name}.decision`,
      Type.Optional(
        Type.Enum(['allow', ...otherDecisions, 'block', 'answer', 'invalid'], {
          description: `Decision of the ${name} module; absent without it. "answer": it redirected the request. "invalid": it was not asked.`,
        }),
      ),
    ]),
);

/** The object of `http_request_complete.v0`. */
export const requestObjectSchema: TObject = Type.Object({
  request_id: text('Id of the request, as in Postern-Request-Id.'),
  method: text('Method.'),
  host: text('Host.'),
  path: text('Path, without the query.'),
  status: number('Status of the response; 0 if there was none.'),
  edge_id: textOrNull('Id of the edge; null if none has the host.'),
  route_id: textOrNull('Id of the route; null if none matched.'),
  upstream: textOrNull('Address of the upstream; null if none was asked.'),
  ...shared,
  user_id: textOrNull('Id of the person, service account or guest link; null if nobody was recognized.'),
  auth_kind: textOrNull('How the requester was recognized; null if nobody was.'),
  access: textOrNull('Decision of the access module; null without one.'),
  access_rule: textOrNull('Rule that decided; null if none did.'),
  error_code: textOrNull('Code of the error; null if there was none.'),
  refused_by: textOrNull('Module that rejected the request; null if none did.'),
  answered_by: textOrNull('Module that redirected the request; null if none did.'),
  would_refuse_by: textOrNull(
    'Module and rule of a rehearsal that would have rejected the request, other than an access rule; null if none would.',
  ),
  ...decisions,
});

/** The object of `tcp_connection_closed.v0`. */
export const connectionObjectSchema: TObject = Type.Object({
  connection_id: text('Id of the connection.'),
  proto: text('tcp or tls.'),
  address: text('Address at which the client connected.'),
  tunnel_id: textOrNull('Id of the tunnel.'),
  endpoint_id: textOrNull('Id of the endpoint.'),
  ...shared,
  error: textOrNull('Why it ended early; null if it ended normally.'),
});
