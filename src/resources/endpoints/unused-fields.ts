import Type, { type TProperties } from 'typebox';
import type { JsonObject } from '../../lib/json.ts';

/** Fields of the retired service that Postern has no use for: clients in Rust and Python fail without them. */
export const unusedFields = {
  name: Type.String({ description: 'Always empty: endpoints have no names.' }),
  upstream_url: Type.String({ description: 'Always empty: see forwards_to of the tunnel.' }),
  upstream_protocol: Type.String({ description: 'Always empty: see forwards_to of the tunnel.' }),
  traffic_policy: Type.String({ description: 'Always empty: modules take its place.' }),
  bindings: Type.Array(Type.String(), { description: 'Always ["public"].', examples: [['public']] }),
  pooling_enabled: Type.Boolean({ description: 'Always false.' }),
  domain: Type.Null({ description: 'Always null: endpoints need no reserved domain.' }),
  tcp_addr: Type.Null({ description: 'Always null: addresses are not reserved.' }),
  principal: Type.Null({ description: 'Always null: endpoints have no owner.' }),
  tunnel_session: Type.Null({ description: 'Always null: see tunnel_session of the tunnel.' }),
} satisfies TProperties;

export const UNUSED_VALUES: JsonObject = {
  name: '',
  upstream_url: '',
  upstream_protocol: '',
  traffic_policy: '',
  bindings: ['public'],
  pooling_enabled: false,
  domain: null,
  tcp_addr: null,
  principal: null,
  tunnel_session: null,
};
