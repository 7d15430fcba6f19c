import { authorities as authoritiesCheck } from '../../checks/authorities.ts';
import { certificates as certificatesCheck } from '../../checks/certificates.ts';
import { findingsOfCheck } from '../../checks/check.ts';
import { type Finding, findingsOf } from '../../checks/finding.ts';
import { nodes as nodesCheck } from '../../checks/nodes.ts';
import { routes as routesCheck } from '../../checks/routes.ts';
import type { HttpsEdge } from '../../client/generated/https-edges.ts';
import type { ManagedCertificate } from '../../client/generated/managed-certificates.ts';
import type { Node } from '../../client/generated/nodes.ts';
import { Resources } from '../../client/generated/resources.ts';
import type { TunnelSession } from '../../client/generated/tunnel-sessions.ts';
import type { Tunnel } from '../../client/generated/tunnels.ts';
import { PosternApiError } from '../../client/postern-api-error.ts';
import type { Transport } from '../../client/transport.ts';
import { checkedAsShown } from '../doctor/checked-as-shown.ts';
import { readPeers } from '../doctor/read-facts.ts';
import { readUnprepared } from '../doctor/read-unprepared.ts';
import { type ExpiringCertificate, expiringCertificates } from './expiring-certificates.ts';
import { healthOf, type ServerHealth } from './server-health.ts';

/** Everything on the screen. A part that the key may not read is null. */
export interface Status {
  readonly health: ServerHealth;
  readonly nodes: readonly Node[] | null;
  readonly edges: readonly HttpsEdge[] | null;
  readonly agents: readonly TunnelSession[] | null;
  readonly tunnels: readonly Tunnel[] | null;
  readonly expiring: readonly ExpiringCertificate[];
  /** Without those that are fine. */
  readonly findings: readonly Finding[];
}

export async function readStatus(transport: Transport, nowMs: number): Promise<Status> {
  const resources = new Resources(transport);
  const health = await healthOf(transport);
  const [nodes, edges, agents, tunnels, managed, uploaded, authorities] = await Promise.all([
    allowed(() => Array.fromAsync(resources.nodes.list())),
    allowed(() => Array.fromAsync(resources.httpsEdges.list())),
    allowed(() => Array.fromAsync(resources.tunnelSessions.list())),
    allowed(() => Array.fromAsync(resources.tunnels.list())),
    allowed(() => Array.fromAsync(resources.managedCertificates.list())),
    allowed(() => Array.fromAsync(resources.tlsCertificates.list())),
    allowed(() => Array.fromAsync(resources.certificateAuthorities.list())),
  ]);
  const known = { edges: (edges ?? []).map(checkedAsShown), nowMs, peers: await readPeers(transport) };
  const findings = [
    ...healthFindings(health),
    ...findingsOfCheck(nodesCheck, { ...known, nodes: nodes ?? [] }),
    ...findingsOfCheck(routesCheck, { ...known, unprepared: await readUnprepared(edges ?? [], transport) }),
    ...findingsOfCheck(certificatesCheck, { ...known, tls_certificates: uploaded ?? [] }),
    ...managedFindings(managed ?? []),
    ...findingsOfCheck(authoritiesCheck, { ...known, certificate_authorities: authorities ?? [] }),
  ];
  return {
    health,
    nodes,
    edges,
    agents,
    tunnels,
    expiring: expiringCertificates({ managed: managed ?? [], uploaded: uploaded ?? [], nowMs }),
    findings: findings.filter(({ level }) => level === 'problem' || level === 'warning'),
  };
}

/** Null when the key lacks the scope: the rest is shown anyway. */
async function allowed<T>(read: () => Promise<T>): Promise<T | null> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof PosternApiError && error.status === 403) return null;
    throw error;
  }
}

function healthFindings({ status, store }: ServerHealth): readonly Finding[] {
  const found = findingsOf('server');
  if (status !== 'ready') found.problem(`the server is ${status}`, 'see its log, or run postern doctor');
  if (store !== null && store !== 'ok') found.problem(`the store is ${store}`, 'see the log of the server');
  return found.list;
}

/** Failing orders only; the end of a certificate is another matter. */
function managedFindings(managed: readonly ManagedCertificate[]): readonly Finding[] {
  const found = findingsOf('managed_certificates');
  for (const { hostname, status, provisioning_job: job } of managed) {
    if (job === null || job.error_code === null) continue;
    const line = `${hostname}: ${job.msg} (${job.error_code})`;
    if (status === 'issued') found.warning(`the renewal for ${line}`, 'remove the cause: postern doctor says more');
    else found.problem(`no certificate for ${line}`, 'remove the cause: postern doctor says more');
  }
  return found.list;
}
