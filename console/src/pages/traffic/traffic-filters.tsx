import { SITE_EDGE } from '../../../../src/client/sites.ts';
import { FilterField } from '../../components/list-filter.tsx';
import { useName } from '../../components/use-name.ts';
import { query, setQuery } from '../../router/location.ts';

const NAMES = ['q', 'status', 'user', 'edge'] as const;
const STATUSES = [
  ['', 'Any'],
  ['2xx', '2xx: answered'],
  ['3xx', '3xx: redirected'],
  ['4xx', '4xx: refused'],
  ['5xx', '5xx: failed'],
  ['0', 'none: no response'],
] as const;

/** From the address of the page: a person and a site are chosen by links elsewhere. */
export function trafficSearch(): string {
  const search = new URLSearchParams();
  for (const name of NAMES) {
    const value = query.value.get(name) ?? '';
    if (value !== '') search.set(name, value);
  }
  return search.toString();
}

/** The server filters, while somebody types. */
export function TrafficFilters() {
  const status = query.value.get('status') ?? '';
  return (
    <>
      <FilterField label="Search requests" placeholder="Host, path, person, address, status or id" />
      <div class="field">
        <label for="filter-status">Status</label>
        <select id="filter-status" value={status} onChange={(event) => setQuery({ status: event.currentTarget.value })}>
          {STATUSES.map(([value, label]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
          {!STATUSES.some(([value]) => value === status) && <option value={status}>{status}</option>}
        </select>
      </div>
    </>
  );
}

/** A person or a site whose requests alone are shown. */
export function ChosenFilters() {
  return (
    <>
      <Chosen name="user" path="/app/users/" what="Only requests of" />
      <Chosen name="edge" path={`${SITE_EDGE.path}/`} what="Only requests to" />
    </>
  );
}

function Chosen({ name, path, what }: { name: 'user' | 'edge'; path: string; what: string }) {
  const id = query.value.get(name) ?? '';
  const known = useName(id === '' ? null : { id, uri: `${path}${encodeURIComponent(id)}` });
  if (id === '') return null;
  return (
    <p class="line">
      <span dir="auto">
        {what} <strong>{known ?? id}</strong>
      </span>
      <button type="button" class="small" onClick={() => setQuery({ [name]: '' })}>
        Show all
      </button>
    </p>
  );
}
