// A view of the state that throws when it is written to: for development, where a stray write would otherwise be lost in
// silence. One proxy per object, for as long as the object lives.

import { isContainer } from './change/plain.js';

const views = new WeakMap<object, object>();

export function guarded<T>(value: T): T {
  if (!isContainer(value)) return value;
  const known = views.get(value);
  if (known !== undefined) return known as T;
  const view = new Proxy(value, HANDLER);
  views.set(value, view);
  return view as T;
}

function refuse(): never {
  throw new TypeError('The state is read-only. Change it inside doc.update((draft) => { … }).');
}

const HANDLER: ProxyHandler<object> = {
  get(target, key) {
    const value: unknown = Reflect.get(target, key);
    // Methods of arrays run on the view, so that what they hand out is guarded too.
    return guarded(value);
  },
  getOwnPropertyDescriptor(target, key) {
    const found = Reflect.getOwnPropertyDescriptor(target, key);
    return found === undefined || !('value' in found) ? found : { ...found, value: guarded(found.value) };
  },
  set: refuse,
  defineProperty: refuse,
  deleteProperty: refuse,
  setPrototypeOf: refuse,
  preventExtensions: refuse,
};
