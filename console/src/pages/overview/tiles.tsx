import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { SITE_EDGE } from '../../../../src/client/sites.ts';
import { isAllowed } from '../../api/scopes.ts';
import { useLive } from '../../api/use-live.ts';
import { rateText } from '../../format/amounts.ts';
import { href } from '../../router/location.ts';
import { useFirstPage } from './overview-data.ts';

interface LiveOverview {
  readonly requests_per_second: number;
  readonly errors_per_second: number;
  readonly edges: number;
  readonly agents: number;
}

/** Live where the server and the scopes allow it; otherwise from lists and series that are loaded again and again. */
export function Tiles() {
  const [live, setLive] = useState<LiveOverview | null>(null);
  useLive(isAllowed('series:read') ? 'topics=overview' : '', ({ topic, data }) => {
    if (topic === 'overview') setLive(data as LiveOverview);
  });
  const nodes = useFirstPage('/nodes', 'nodes', 'nodes:read');
  const edges = useFirstPage(SITE_EDGE.path, SITE_EDGE.resource, 'edges:read');
  const agents = useFirstPage('/tunnel_sessions', 'tunnel_sessions', 'tunnel_sessions:read');
  const ready = nodes.data?.filter(({ status }) => status === 'ready').length ?? 0;
  return (
    <div class="tiles">
      <Tile
        name="Requests per second"
        value={live === null ? '–' : rateText(live.requests_per_second)}
        note="over ten seconds"
        below="/traffic"
        scope="requests:read"
      />
      <Tile
        name="Errors per second"
        value={live === null ? '–' : rateText(live.errors_per_second)}
        note="status 500 and above"
        below="/traffic"
        scope="requests:read"
      />
      <Tile
        name="Edges"
        value={live === null ? countText(edges) : live.edges.toLocaleString('en')}
        note="hosts served"
        below="/edges"
        scope="edges:read"
      />
      <Tile
        name="Agents online"
        value={live === null ? countText(agents) : live.agents.toLocaleString('en')}
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
