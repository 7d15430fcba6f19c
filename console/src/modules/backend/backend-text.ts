import type { Document } from '../../api/use-pages.ts';
import { textAt } from '../../format/text.ts';
import { documentName } from '../../schema/document-name.ts';
import { resourceAt } from '../../schema/paths.ts';

/** By kind, what people call the place where requests go. */
const TEXTS: Readonly<Record<string, (backend: Document) => string>> = {
  static: (backend) => {
    const isTls = (backend['tls'] as { enabled?: boolean } | undefined)?.enabled === true;
    return `${isTls ? 'https://' : ''}${textAt(backend, 'address')}`;
  },
  http_response: (backend) => `a fixed page (${textAt(backend, 'status_code')})`,
  tunnel_group: (backend) => `agents with ${labelsText(backend['labels'])}`,
  files: (backend) => textAt(backend, 'folder'),
  weighted: (backend) => `shared by ${countOf(backend['backends'])} backends`,
  failover: (backend) => `the first of ${countOf(backend['backends'])} backends that works`,
};

export function backendText(backend: Document): string {
  const tag = resourceAt(textAt(backend, 'uri'))?.type.tag ?? '';
  return TEXTS[tag]?.(backend) ?? documentName(backend);
}

export function labelsText(labels: unknown): string {
  return Object.entries((labels ?? {}) as Record<string, unknown>)
    .map(([name, value]) => `${name}=${String(value)}`)
    .join(', ');
}

function countOf(members: unknown): number {
  if (Array.isArray(members)) return members.length;
  return Object.keys((members ?? {}) as object).length;
}
