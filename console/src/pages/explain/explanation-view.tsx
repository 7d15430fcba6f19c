import { Chip, StatusChip } from '../../components/chip.tsx';
import { Decisions } from '../../components/decisions.tsx';
import { Facts } from '../../components/facts.tsx';
import { RefLink } from '../../components/ref-link.tsx';
import { ValueView } from '../../components/value-view.tsx';
import { href } from '../../router/location.ts';
import type { Decision } from '../traffic/request-record.ts';
import type { Explanation, Target } from './explain-record.ts';

export function ExplanationView({ explanation }: { explanation: Explanation }) {
  const { outcome, upstream_request: upstream } = explanation;
  const refusal = explanation.decisions.find(({ decision }) => decision === 'refuse');
  return (
    <>
      <section class="card" aria-label="Outcome">
        <header>
          <h2>Outcome</h2>
          {outcome.status !== undefined && <StatusChip status={outcome.status} />}
          {outcome.status === undefined && outcome.targets.length > 0 && <Chip tone="ok">passes</Chip>}
        </header>
        <div class="body">
          <Facts
            rows={[
              [
                'Edge',
                explanation.edge === null ? (
                  'none: no edge has this host'
                ) : (
                  <RefLink key="edge" reference={explanation.edge} />
                ),
              ],
              [
                'Route',
                explanation.route === null ? (
                  'none: no route has this path'
                ) : (
                  <RefLink key="route" reference={explanation.route} />
                ),
              ],
              ...(refusal === undefined
                ? []
                : [['Refused by', <RefusedBy key="by" {...{ refusal, explanation }} />] as const]),
              ...(outcome.error_code ? [['Error', <code key="code">{outcome.error_code}</code>] as const] : []),
              ...(outcome.location ? [['Redirect', <code key="location">{outcome.location}</code>] as const] : []),
              ['Targets', outcome.targets.length === 0 ? 'none' : outcome.targets.map(targetText).join(', ')],
              ...(outcome.node ? [['Node', outcome.node] as const] : []),
            ]}
          />
        </div>
      </section>
      <section class="card" aria-label="Decisions">
        <header>
          <h2>Decisions</h2>
        </header>
        <div class="body">
          <Decisions decisions={explanation.decisions} />
        </div>
      </section>
      {explanation.candidates.length > 0 && (
        <section class="card" aria-label="Other routes">
          <header>
            <h2>Other routes</h2>
          </header>
          <ul class="body stack-small">
            {explanation.candidates.map(({ route, why_not }) => (
              <li key={route.id} class="line">
                <RefLink reference={route} />
                <span class="muted wrap-anywhere">{why_not}</span>
              </li>
            ))}
          </ul>
        </section>
      )}
      {upstream !== null && upstream !== undefined && (
        <section class="card" aria-label="Request to the upstream">
          <header>
            <h2>Request to the upstream</h2>
          </header>
          <div class="body">
            <Facts
              rows={[
                ...(upstream.target ? [['Path', <code key="target">{upstream.target}</code>] as const] : []),
                ['Headers added', <pre key="added">{headerLines(upstream.headers_added)}</pre>],
                ['Headers removed', <ValueView key="removed" value={upstream.headers_removed} />],
              ]}
            />
          </div>
        </section>
      )}
    </>
  );
}

/** The module, and the page where it is changed. */
function RefusedBy({ refusal, explanation }: { refusal: Decision; explanation: Explanation }) {
  const { edge, route } = explanation;
  return (
    <span class="line">
      {refusal.module}
      {edge !== null && route !== null && <a href={href(`/sites/${edge.id}`)}>Change who may enter</a>}
      {edge !== null && route !== null && (
        <a href={href(`/edges/${edge.id}/routes/${route.id}`)}>All modules of the route</a>
      )}
    </span>
  );
}

function targetText({ name, kind, node, forwards_to }: Target): string {
  const via = [forwards_to && `forwards to ${forwards_to}`, node && `on node ${node}`].filter(Boolean).join(', ');
  return `${kind} ${name}${via === '' ? '' : ` (${via})`}`;
}

function headerLines(headers: Readonly<Record<string, string>>): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return lines.length === 0 ? 'none' : lines.join('\n');
}
