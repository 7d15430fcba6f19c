export interface Filters {
  readonly host: string;
  readonly status: string;
  readonly user: string;
}

export const NO_FILTERS: Filters = { host: '', status: '', user: '' };

export function filterQuery(filters: Filters): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(filters)) if (value !== '') query.set(name, value);
  return query.toString();
}

const FIELDS = [
  ['host', 'Host', 'app.example.com'],
  ['status', 'Status', '503 or 5xx'],
  ['user', 'Person (id)', 'au_…'],
] as const;

/** The server filters; a field takes effect when it is left or with Enter. */
export function TrafficFilters({ filters, onChange }: { filters: Filters; onChange: (filters: Filters) => void }) {
  return (
    <>
      {FIELDS.map(([name, label, example]) => (
        <div class="field" key={name}>
          <label for={`filter-${name}`}>{label}</label>
          <input
            id={`filter-${name}`}
            type="search"
            placeholder={example}
            spellcheck={false}
            value={filters[name]}
            onChange={(event) => onChange({ ...filters, [name]: event.currentTarget.value.trim() })}
          />
        </div>
      ))}
    </>
  );
}
