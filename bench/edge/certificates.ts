import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { issue } from '../../test/edge/tls/test-authority.ts';

export const HOST = 'bench.localhost';
export const MUTUAL_HOST = 'mutual.localhost';

/** ECDSA P-256, the kind that Postern issues itself. */
export interface BenchCertificates {
  /** Certificate and key of both hosts, as two files and as the single file that haproxy requires. */
  readonly certificateFile: string;
  readonly keyFile: string;
  readonly togetherFile: string;
  readonly clientAuthorityFile: string;
  readonly clientAuthorityPem: string;
  readonly client: { readonly cert: string; readonly key: string };
}

export async function makeCertificates(directory: string): Promise<BenchCertificates> {
  const authority = await issue({ commonName: 'bench authority', isCa: true });
  const server = await issue({
    commonName: HOST,
    issuer: authority,
    usages: ['server'],
    dnsNames: [HOST, MUTUAL_HOST],
  });
  const client = await issue({ commonName: 'bench client', issuer: authority, usages: ['client'] });
  const file = async (name: string, text: string): Promise<string> => {
    const path = join(directory, name);
    await writeFile(path, text, { mode: 0o600 });
    return path;
  };
  return {
    certificateFile: await file('server.pem', server.certificatePem),
    keyFile: await file('server.key', server.keyPem),
    togetherFile: await file('server-both.pem', server.certificatePem + server.keyPem),
    clientAuthorityFile: await file('clients.pem', authority.certificatePem),
    clientAuthorityPem: authority.certificatePem,
    client: { cert: client.certificatePem, key: client.keyPem },
  };
}
