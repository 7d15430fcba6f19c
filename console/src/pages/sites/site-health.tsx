import type { Document } from '../../api/use-pages.ts';
import { Chip, type Tone } from '../../components/chip.tsx';
import { counted } from '../../format/amounts.ts';
import type { Reference } from '../../schema/load-by-ids.ts';
import { rootFirst } from '../edges/edge-tree.tsx';
import type { SiteFigures } from './use-site-figures.ts';

export interface Health {
  readonly tone: Tone;
  readonly text: string;
  /** The reason, in a sentence. */
  readonly why: string;
}

/** What is known about a site without asking it: its configuration, its agents, alerts, and what requests met. */
export function healthOf(edge: Document, backends: ReadonlyMap<string, Document>, figures: SiteFigures): Health {
  const routes = rootFirst(edge);
  const targets = backendsOf(edge);
  if (isPaused(edge)) return { tone: 'warn', text: 'paused', why: 'Visitors get 503, until somebody opens it again.' };
  if (targets.length < Math.max(1, routes.length))
    return { tone: 'danger', text: 'no target', why: 'Requests get 503, because a route has no backend.' };
  const alert = targets.map(({ id }) => figures.alerts.get(id)).find((title) => title !== undefined);
  if (alert !== undefined) return { tone: 'danger', text: 'failing', why: alert };
  const isAway = targets.some(({ id }) => {
    const tunnels = backends.get(id)?.['tunnels'];
    return Array.isArray(tunnels) && tunnels.length === 0;
  });
  if (isAway) return { tone: 'danger', text: 'no agent', why: 'No agent with these labels is connected.' };
  const found = figures.of(String(edge['id']));
  if (found === null) return { tone: 'plain', text: 'unknown', why: 'Its traffic is not known to you.' };
  const { requests, errors } = found;
  const failed = `${errors.toLocaleString('en')} of ${counted(requests, 'request')} of the last hour failed.`;
  if (requests === 0) return { tone: 'plain', text: 'quiet', why: 'Nobody has opened it in the last hour.' };
  if (errors * 2 >= requests) return { tone: 'danger', text: 'failing', why: failed };
  return errors > 0
    ? { tone: 'warn', text: 'errors', why: failed }
    : { tone: 'ok', text: 'working', why: 'No request of the last hour failed.' };
}

/** All paths of a site are paused together. */
export function isPaused(edge: Document): boolean {
  const [root] = rootFirst(edge);
  const maintenance = root?.['maintenance'] as { enabled?: boolean } | null | undefined;
  return maintenance !== null && maintenance !== undefined && maintenance.enabled !== false;
}

export function HealthChip({ health }: { health: Health }) {
  return (
    <Chip tone={health.tone} title={health.why}>
      {health.text}
    </Chip>
  );
}

/** That of "/" first. */
export function backendsOf(edge: Document): readonly Reference[] {
  return rootFirst(edge).flatMap((route) => {
    const module = route['backend'] as { enabled?: boolean; backend?: Reference | null } | null | undefined;
    return module?.enabled === false || !module?.backend ? [] : [module.backend];
  });
}
