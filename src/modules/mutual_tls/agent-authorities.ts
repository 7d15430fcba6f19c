import type { Static } from 'typebox';
import type { JsonObject } from '../../lib/json.ts';
import { certificatesIn, describeCertificate } from '../../lib/pki/describe-certificate.ts';
import type { AcceptedForm } from '../contract/agent-form.ts';
import type { mutualTlsAgentSchema } from './agent-form.ts';

const MAX_AUTHORITIES = 10;

/** Each text may contain several certificates. */
export function agentAuthorities(form: JsonObject, endpointId: string): AcceptedForm | { readonly problem: string } {
  // The server has decoded the form by its schema.
  const { ca_pems: pems } = form as Static<typeof mutualTlsAgentSchema>;
  const certificates = readAll(pems);
  if (certificates === null) {
    return { problem: 'a CA certificate cannot be parsed: use PEM certificates only' };
  }
  if (certificates.length === 0 || certificates.length > MAX_AUTHORITIES) {
    return { problem: `must have 1 to ${MAX_AUTHORITIES} CA certificates` };
  }
  if (certificates.some(({ isCa }) => !isCa)) {
    return {
      problem:
        'a certificate is not a CA certificate (basicConstraints CA:TRUE is missing): use the certificate of the CA, not one that it issued',
    };
  }
  const records = certificates.map(({ pem }, at) => ({
    kind: 'certificate_authority',
    id: `${endpointId}.ca.${at}`,
    parent: null,
    doc: { ca_pem: pem },
  }));
  return { config: { enabled: true, certificate_authority_ids: records.map(({ id }) => id) }, records };
}

function readAll(pems: readonly string[]): readonly { readonly pem: string; readonly isCa: boolean }[] | null {
  try {
    return pems.flatMap((pem) =>
      certificatesIn(pem).map((certificate) => ({
        pem: certificate.toString(),
        isCa: describeCertificate(certificate).isCa,
      })),
    );
  } catch {
    return null;
  }
}
