import type { Document } from '../api/use-pages.ts';
import type { ModuleType } from '../schema/resource-types.ts';
import { Chip } from './chip.tsx';

/** The modules of an edge or a route, in the order in which they handle a request. */
export function ModuleChips({ document, modules }: { document: Document; modules: readonly ModuleType[] }) {
  const used = modules.filter(({ name }) => document[name] !== null && document[name] !== undefined);
  if (used.length === 0) return <span class="muted">none</span>;
  return (
    <span class="line">
      {used.map(({ name, title }) => {
        const isOn = (document[name] as Document)['enabled'] !== false;
        return (
          <Chip key={name} tone={isOn ? 'accent' : 'plain'} title={isOn ? title : `${title} (disabled)`}>
            {isOn ? title : `${title} off`}
          </Chip>
        );
      })}
    </span>
  );
}
