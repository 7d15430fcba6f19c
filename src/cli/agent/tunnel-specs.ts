import type { TunnelSpec } from '../../agent/options.ts';
import type { EndpointModules } from '../../tunnel/messages.ts';
import type { TunnelConfig, UpstreamTlsConfig } from './config/agent-config.ts';

/** The certificates of PEM files; `name` identifies them in messages. */
export type ReadCertificates = (files: readonly string[], name: string) => Promise<readonly string[]>;

type Published = Pick<TunnelSpec, 'name' | 'proto' | 'labels'>;

/** The tunnels to request: one per scheme, and one for anything else. */
export async function tunnelSpecs(tunnel: TunnelConfig, read: ReadCertificates): Promise<readonly TunnelSpec[]> {
  const modules = await modulesOf(tunnel, read);
  const upstreamTls = tunnel.upstreamTls === null ? undefined : await upstreamTlsOf(tunnel.upstreamTls, read);
  const rest: TunnelSpec = {
    addr: tunnel.addr,
    inspect: tunnel.inspect,
    ...(tunnel.domain !== null && { domain: tunnel.domain }),
    ...(tunnel.remotePort !== null && { port: tunnel.remotePort }),
    ...(tunnel.metadata !== null && { metadata: tunnel.metadata }),
    ...(tunnel.hostHeader !== null && { hostHeader: tunnel.hostHeader }),
    ...(Object.keys(modules).length > 0 && { modules }),
    ...(upstreamTls !== undefined && { upstreamTls }),
  };
  return publishedAs(tunnel).map((published) => ({ ...published, ...rest }));
}

export function publishedAs({ name, proto, labels, schemes }: TunnelConfig): readonly Published[] {
  if (labels !== null) return [{ name, labels }];
  if (proto !== 'http') return [{ name, proto: proto ?? 'tcp' }];
  const all = schemes ?? ['https'];
  return all.map((scheme) => ({ name: all.length === 1 ? name : `${name} (${scheme})`, proto: scheme }));
}

async function modulesOf(tunnel: TunnelConfig, read: ReadCertificates): Promise<EndpointModules> {
  const { oidc, ipRestriction, mutualTlsCas, compression } = tunnel;
  const caPems = mutualTlsCas.length === 0 ? [] : await read(mutualTlsCas, 'mutual_tls_cas');
  return {
    ...(oidc !== null && { oidc: { ...oidc } }),
    ...(ipRestriction !== null && {
      ip_restriction: { allow: [...ipRestriction.allowCidrs], deny: [...ipRestriction.denyCidrs] },
    }),
    ...(caPems.length > 0 && { mutual_tls: { ca_pems: [...caPems] } }),
    ...(compression && { compression: {} }),
  };
}

async function upstreamTlsOf({ rootCas, serverName, insecureSkipVerify }: UpstreamTlsConfig, read: ReadCertificates) {
  return {
    ...(rootCas.length > 0 && { ca: await read(rootCas, 'upstream_tls') }),
    ...(serverName !== null && { servername: serverName }),
    insecureSkipVerify,
  };
}
