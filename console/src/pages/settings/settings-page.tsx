import { useState } from 'preact/hooks';
import { get } from '../../api/request.ts';
import { useLoaded } from '../../api/use-loaded.ts';
import { Chip } from '../../components/chip.tsx';
import { DataTable } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { LoadedView } from '../../components/loaded-view.tsx';
import { PageHead } from '../../components/page-head.tsx';

interface Setting {
  readonly name: string;
  readonly value: unknown;
  readonly source: string;
  readonly secret: boolean;
  readonly description: string;
}

export function SettingsPage() {
  const loaded = useLoaded('settings', (abort) => get<{ settings: readonly Setting[] }>('/settings', abort));
  const [filter, setFilter] = useState('');
  const [isOnlySet, setOnlySet] = useState(false);
  const wanted = filter.trim().toLowerCase();
  return (
    <>
      <PageHead
        title="Settings"
        hint="Settings in effect on the node that answers, and where each comes from. They change with the configuration file, the environment or flags."
      />
      <div class="filters">
        <div class="field">
          <label for="setting-filter">Filter</label>
          <input
            id="setting-filter"
            type="search"
            value={filter}
            onInput={(event) => setFilter(event.currentTarget.value)}
          />
        </div>
        <div class="check">
          <input
            id="only-set"
            type="checkbox"
            checked={isOnlySet}
            onChange={(event) => setOnlySet(event.currentTarget.checked)}
          />
          <label for="only-set">Only those that differ from the default</label>
        </div>
      </div>
      <LoadedView loaded={loaded} what="The list of settings">
        {({ settings }) => (
          <DataTable<Setting>
            label="Settings"
            isWhole
            rows={settings.filter(
              ({ name, description, source }) =>
                (!isOnlySet || !isDefault(source)) && `${name} ${description}`.toLowerCase().includes(wanted),
            )}
            rowKey={({ name }) => name}
            columns={[
              {
                name: 'Setting',
                class: 'col-wide',
                cell: ({ name, description }) => (
                  <span class="stack-small">
                    <code>{name}</code>
                    <span class="hint">{description}</span>
                  </span>
                ),
              },
              {
                name: 'Value',
                cell: ({ value }) => (
                  <span class="mono" title={textOf(value)}>
                    {textOf(value)}
                  </span>
                ),
              },
              {
                name: 'From',
                class: 'middle col-source',
                cell: ({ source }) => (
                  <Chip tone={isDefault(source) ? 'plain' : 'accent'} title={source}>
                    {source}
                  </Chip>
                ),
              },
            ]}
            empty={
              <EmptyState title="No setting matches">
                <p>Clear the filter to see all settings.</p>
              </EmptyState>
            }
          />
        )}
      </LoadedView>
    </>
  );
}

function isDefault(source: string): boolean {
  return source === 'default' || source === 'unset';
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
