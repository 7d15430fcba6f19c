import type { Signal } from '@preact/signals';
import { href, path } from '../router/location.ts';
import { navigation } from './navigation.ts';

export function SideNav({ isOpen }: { isOpen: Signal<boolean> }) {
  return (
    <nav
      id="navigation"
      class={`side-nav ${isOpen.value ? 'open' : ''}`}
      aria-label="Pages"
      onKeyDown={(event) => {
        if (event.key === 'Escape') isOpen.value = false;
      }}
    >
      {navigation().map(({ name, items }) => (
        <div key={name}>
          {name !== '' && <h2>{name}</h2>}
          <ul>
            {items.map((item) => (
              <li key={item.below}>
                <a href={href(item.below)} {...(isCurrent(item.below) && { 'aria-current': 'page' as const })}>
                  {item.name}
                </a>
              </li>
            ))}
          </ul>
        </div>
      ))}
    </nav>
  );
}

function isCurrent(below: string): boolean {
  return path.value === below || (below !== '/' && path.value.startsWith(`${below}/`));
}
