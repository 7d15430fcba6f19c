import type { StaticBackend } from '../client/generated/static-backends.ts';
import type { EdgeOperation } from './edge-operation.ts';
import type { WantedTarget } from './wanted-edge.ts';

/** Where requests go, for a line of the plan. */
export function targetText(target: WantedTarget): string {
  switch (target.kind) {
    case 'backend':
      return target.id;
    case 'address':
      return target.hasTls ? `https://${target.address}` : target.address;
    case 'agents':
      return `agents with ${Object.entries(target.labels)
        .map(([name, value]) => `${name}=${value}`)
        .join(', ')}`;
    case 'page':
      return `a fixed page (${target.status})`;
  }
}

/** Id of the backend that is there already; null: it is made. */
export function existingBackend(target: WantedTarget, backends: readonly StaticBackend[]): string | null {
  if (target.kind === 'backend') return target.id;
  if (target.kind !== 'address') return null;
  return backends.find(({ address, tls }) => address === target.address && tls.enabled === target.hasTls)?.id ?? null;
}

export function createBackend(target: Exclude<WantedTarget, { kind: 'backend' }>, place: string): EdgeOperation {
  const description = place.slice(0, 255);
  switch (target.kind) {
    case 'address': {
      const { address, hasTls } = target;
      const body = { address, description, ...(hasTls && { tls: { enabled: true } }) };
      return { method: 'POST', path: '/backends/static', body };
    }
    case 'agents':
      return { method: 'POST', path: '/backends/tunnel_group', body: { labels: { ...target.labels }, description } };
    case 'page': {
      const headers = { 'content-type': target.contentType };
      const body = { body: target.body, headers, status_code: target.status, description };
      return { method: 'POST', path: '/backends/http_response', body };
    }
  }
}
