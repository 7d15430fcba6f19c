import Type from 'typebox';
import type { AgentForm } from '../contract/agent-form.ts';

/** In the bind message: certificates instead of the authorities that an operator would refer to. */
export const mutualTlsAgentSchema = Type.Object({
  ca_pems: Type.Array(Type.String({ maxLength: 16_384 }), {
    minItems: 1,
    maxItems: 10,
    description: 'CAs in PEM. Clients need a certificate that one of them issued.',
  }),
});

export const mutualTlsAgentForm: AgentForm = {
  order: 3,
  key: 'mutual_tls_cas',
  shape: 'list',
  protocols: ['https'],
  unsupportedReason: 'the server requests client certificates only where it terminates TLS',
  tlsReason: 'client certificates require TLS',
  fields: [
    {
      name: 'ca_pems',
      example: 'clients-ca.pem',
      isCertificateFile: true,
      flag: {
        name: 'mutual-tls-ca',
        hint: 'FILE',
        description: 'PEM file with CAs. Require a client certificate issued by one of them.',
      },
    },
  ],
  helpExample: '--mutual-tls-ca clients-ca.pem',
  summary: ["clients' certificates"],
};
