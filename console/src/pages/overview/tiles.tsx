import type { ComponentChildren } from 'preact';
import { isAllowed } from '../../api/scopes.ts';
import { rateText } from '../../format/amounts.ts';
import { href } from '../../router/location.ts';
import { useFirstPage, useSeries } from './overview-data.ts';

export function Tiles() {
  const nodes = useFirstPage('/nodes', 'nodes', 'nodes:read');
  const edges = useFirstPage('/edges/https', 'https_edges', 'edges:read');
  const agents = useFirstPage('/tunnel_sessions', 'tunnel_sessions', 'tunnel_sessions:read');
  const series = useSeries();
  const last = series.data?.points.at(-2) ?? series.data?.points.at(-1);
  const step = series.data?.step ?? 60;
  const ready = nodes.data?.filter(({ status }) => status === 'ready').length ?? 0;
  return (
    <div class="tiles">
      <Tile
        name="Requests per second"
        value={last === undefined ? '–' : rateText(last.requests / step)}
        note="last full minute"
        below="/traffic"
        scope="requests:read"
      />
      <Tile
        name="Errors per second"
        value={last === undefined ? '–' : rateText(last.errors / step)}
        note="status 500 and above"
        below="/traffic"
        scope="requests:read"
      />
      <Tile name="Edges" value={countText(edges)} note="hosts served" below="/edges" scope="edges:read" />
      <Tile
        name="Agents online"
        value={countText(agents)}
        note="connected now"
        below="/tunnels"
        scope="tunnel_sessions:read"
      />
      <Tile
        name="Nodes ready"
        value={nodes.data === null ? '–' : `${ready} of ${nodes.data.length}`}
        note="servers of this installation"
        below="/resources/nodes"
        scope="nodes:read"
      />
    </div>
  );
}

function countText({ data, hasMore }: { data: readonly unknown[] | null; hasMore: boolean }): string {
  if (data === null) return '–';
  return hasMore ? `${data.length}+` : String(data.length);
}

interface TileProps {
  readonly name: string;
  readonly value: ComponentChildren;
  readonly note: string;
  readonly below: string;
  readonly scope: string;
}

function Tile({ name, value, note, below, scope }: TileProps) {
  const content = (
    <>
      <span class="name">{name}</span>
      <span class="value">{value}</span>
      <span class="note">{note}</span>
    </>
  );
  if (!isAllowed(scope)) return <div class="tile">{content}</div>;
  return (
    <a class="tile" href={href(below)}>
      {content}
    </a>
  );
}
