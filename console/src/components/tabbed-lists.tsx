import type { ComponentChildren } from 'preact';
import { areAllowed } from '../api/scopes.ts';
import type { Document } from '../api/use-pages.ts';
import { type ResourceType, resourceType } from '../schema/resource-types.ts';
import { capital } from '../shell/navigation.ts';
import type { CreateForm } from './create-resource.tsx';
import type { Column } from './data-table.tsx';
import { NotAvailable } from './notice.tsx';
import { ResourceList } from './resource-list.tsx';
import { Tabs, useTab } from './tabs.tsx';

export interface ListTab {
  readonly tag: string;
  readonly name?: string;
  readonly purpose?: ComponentChildren;
  readonly hint?: ComponentChildren;
  readonly form?: CreateForm | null;
  readonly columns?: (type: ResourceType) => readonly Column<Document>[];
  readonly extraColumns?: (type: ResourceType, reload: () => void) => readonly Column<Document>[];
}

interface TabbedListsProps {
  readonly label: string;
  readonly tabs: readonly ListTab[];
  /** The tab of somebody who chose none; absent: the first. */
  readonly first?: string | undefined;
}

/** Several lists of the API on one page. Those that the scopes do not allow are left out. */
export function TabbedLists({ label, tabs, first }: TabbedListsProps) {
  const offered = tabs.flatMap((tab) => {
    const type = resourceType(tab.tag);
    return type === undefined || !areAllowed(type.list.scopes) ? [] : [{ tab, type }];
  });
  const chosen = useTab(
    offered.map(({ tab }) => tab.tag),
    first,
  );
  const current = offered.find(({ tab }) => tab.tag === chosen);
  if (current === undefined) return <NotAvailable what={label} />;
  const { tab, type } = current;
  return (
    <>
      <Tabs
        label={label}
        first={first}
        tabs={offered.map((each) => [each.tab.tag, each.tab.name ?? capital(each.type.plural)])}
      />
      <ResourceList
        key={tab.tag}
        type={type}
        {...(tab.purpose !== undefined && { purpose: tab.purpose })}
        {...(tab.hint !== undefined && { hint: tab.hint })}
        {...(tab.form !== undefined && { form: tab.form })}
        {...(tab.columns !== undefined && { columns: tab.columns(type) })}
        {...(tab.extraColumns !== undefined && { extraColumns: (reload) => tab.extraColumns?.(type, reload) ?? [] })}
      />
    </>
  );
}
