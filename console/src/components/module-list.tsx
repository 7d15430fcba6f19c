import { useState } from 'preact/hooks';
import { areAllowed } from '../api/scopes.ts';
import type { Document } from '../api/use-pages.ts';
import { fillPath } from '../schema/paths.ts';
import type { ModuleType } from '../schema/resource-types.ts';
import { EmptyState } from './empty-state.tsx';
import { ModuleCard, ModuleEditor } from './module-card.tsx';

interface ModuleListProps {
  readonly document: Document;
  readonly modules: readonly ModuleType[];
  readonly ids: Readonly<Record<string, string>>;
  /** What has the modules, such as "app.example.com/docs". */
  readonly place: string;
  readonly empty: string;
  readonly onChange: () => void;
}

/** The modules in use, and a menu of those that could be added. */
export function ModuleList({ document, modules, ids, place, empty, onChange }: ModuleListProps) {
  const [added, setAdded] = useState<ModuleType | null>(null);
  const used = modules.filter(({ name }) => document[name] !== null && document[name] !== undefined);
  const others = modules.filter((module) => !used.includes(module) && areAllowed(module.replace.scopes));
  return (
    <section class="stack-small" aria-label="Modules">
      <div class="line">
        <h2>Modules</h2>
        {others.length > 0 && (
          <select
            class="push"
            aria-label="Add a module"
            value=""
            onChange={(event) => {
              setAdded(others.find(({ name }) => name === event.currentTarget.value) ?? null);
              event.currentTarget.value = '';
            }}
          >
            <option value="">Add a module …</option>
            {others.map(({ name, title }) => (
              <option key={name} value={name}>
                {title}
              </option>
            ))}
          </select>
        )}
      </div>
      {used.length === 0 && (
        <div class="card">
          <EmptyState title="No modules">
            <p>{empty}</p>
          </EmptyState>
        </div>
      )}
      {used.map((module) => (
        <ModuleCard
          key={module.name}
          module={module}
          config={document[module.name] as Document}
          ids={ids}
          place={place}
          onChange={onChange}
        />
      ))}
      {added !== null && (
        <ModuleEditor
          module={added}
          path={fillPath(added.path, ids)}
          place={place}
          isNew
          onClose={() => setAdded(null)}
          onSaved={() => {
            setAdded(null);
            onChange();
          }}
        />
      )}
    </section>
  );
}
