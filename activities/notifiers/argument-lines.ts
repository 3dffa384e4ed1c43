/** The arguments that a person decides on, as lines of a notification. */
import type { Notification } from '../definitions/notifier';

/** A line for each field; then how many there are besides, and the command that shows all of them. */
export function argumentLines({
  arguments: shown,
  showWith,
}: Pick<Notification, 'arguments' | 'showWith'>): readonly string[] {
  if (shown === undefined) return [];
  const { fields, more } = shown;
  return [
    ...fields.map(({ name, value }) => `${name}: ${value}`),
    ...(more === undefined ? [] : [`+${more} more values`]),
    ...(showWith === undefined ? [] : [`whole: ${showWith}`]),
  ];
}
