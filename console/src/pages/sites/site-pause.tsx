import { useState } from 'preact/hooks';
import { type SiteEdge, siteEdgePath, siteRoutePath } from '../../../../src/client/sites.ts';
import { rangeText } from '../../../../src/kit/net/range-text.ts';
import { PlainField } from '../../components/form/plain-field.tsx';
import { rangesIn, rangesProblem } from '../../format/address-ranges.ts';
import { type ChangeProps, SiteChange } from './site-changes.tsx';

const TEXT = 'This site is being worked on. Please come back soon.';
const MAX_TEXT = 500;
const MAX_MINUTES = 7 * 24 * 60;

/** Visitors get 503 with a text, and those who work on the site get in. */
export function PauseChange(props: ChangeProps) {
  const { data: edge } = props.answer;
  const [text, setText] = useState(TEXT);
  const [minutes, setMinutes] = useState('10');
  const [addresses, setAddresses] = useState('');
  const ranges = rangesIn(addresses);
  const problems = {
    text:
      text.trim() === ''
        ? 'Enter what visitors read.'
        : text.length > MAX_TEXT
          ? `At most ${MAX_TEXT} characters.`
          : null,
    minutes: /^\d{1,5}$/.test(minutes) && Number(minutes) <= MAX_MINUTES ? null : 'Enter minutes, at most a week.',
    addresses: rangesProblem(addresses),
  };
  const body = { message: text.trim(), retry_after: Number(minutes) * 60, allow_cidrs: ranges };
  const who =
    ranges.length === 0 ? 'Nobody gets in.' : `Who comes from ${ranges.map(rangeText).join(', ')} gets in as before.`;
  return (
    <SiteChange
      {...props}
      title="Pause the site"
      problem={problems.text ?? problems.minutes ?? problems.addresses}
      isUnchanged={false}
      verb="Pause the site"
      sentences={[`Visitors get 503 with “${text.trim().slice(0, 100)}”`, who]}
      plan={async () => ({
        operations: edge.routes.map(({ id }) => ({ method: 'PUT', path: pathOf(edge, id), body })),
        people: null,
      })}
    >
      <PlainField
        id="pause-text"
        label="What visitors read"
        hasFocus
        value={text}
        problem={problems.text}
        onChange={setText}
      />
      <PlainField
        id="pause-minutes"
        label="Try again in (minutes)"
        hint="Programs wait so long (Retry-After)."
        value={minutes}
        problem={problems.minutes}
        onChange={setMinutes}
      />
      <PlainField
        id="pause-addresses"
        label="Let these addresses in (optional)"
        hint="For those who work on the site, such as your own address, with commas."
        placeholder="203.0.113.7"
        value={addresses}
        problem={problems.addresses}
        onChange={setAddresses}
      />
    </SiteChange>
  );
}

export function ResumeChange(props: ChangeProps) {
  const { data: edge } = props.answer;
  return (
    <SiteChange
      {...props}
      title="Open the site again"
      problem={null}
      isUnchanged={false}
      verb="Open the site again"
      sentences={['Visitors get the site again, by the rules of who may enter.']}
      plan={async () => ({
        operations: edge.routes
          .filter(({ maintenance }) => maintenance !== null)
          .map(({ id }) => ({ method: 'DELETE', path: pathOf(edge, id) })),
        people: null,
      })}
    >
      <p>The site is paused now.</p>
    </SiteChange>
  );
}

/** The backend stays: other sites may use it. */
export function RemoveChange(props: ChangeProps) {
  const { data: edge } = props.answer;
  const hosts = edge.hostports.map((each) => each.replace(/:443$/, '')).join(', ');
  return (
    <SiteChange
      {...props}
      title="Remove the site"
      problem={null}
      isUnchanged={false}
      verb="Remove the site"
      sentences={[`${hosts} is no longer served, and its rules are deleted. Where it went stays under Backends.`]}
      plan={async () => ({ operations: [{ method: 'DELETE', path: siteEdgePath(edge.id) }], people: null })}
    >
      <p>You can undo it, now and later on the page Changes.</p>
    </SiteChange>
  );
}

function pathOf({ id }: SiteEdge, routeId: string): string {
  return `${siteRoutePath(id, routeId)}/maintenance`;
}
