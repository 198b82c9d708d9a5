/** What one can try; the texts are those of `docs/demo`, which the default model handles. */

export type Language = 'python' | 'typescript';

export interface Example {
  readonly name: string;
  readonly file: string;
  readonly language: Language;
  readonly text: string;
  /** What the cursor stands behind at first. */
  readonly cursor: string;
  /** What may be selected and what may be asked of it. */
  readonly edit: { readonly from: string; readonly instruction: string };
}

const CART = `"""A shopping cart."""


def total(items, discount=0):
    amount = 0
    for item in items:
        amount += item.price * item.count
    return amount * (1 - discount)


def find(items, name):
    for item in items:
        if item.name == name:
            return item
    return None


class Cart:
    def __init__(self, owner):
        self.owner = owner
        self.items = []

    def add(self, item):
        print("adding", item)
        self.items.append(item)

    def describe(self):
        return "%s has %d items" % (self.owner, len(self.items))
`;

const NUMBERS = `"""Questions about numbers."""


def is_even(number):
    """Whether a number is even."""
    return number % 2 == 0


def is_odd(number):
    """Whether a number is odd."""


def is_positive(number):
    """Whether a number is above zero."""
    return number > 0
`;

const API = `const LIMIT = 100;

export async function loadUsers(client: Client, page: number): Promise<User[]> {
  const response = await client.get("/users", { page, limit: LIMIT });
  if (response.status != 200) {
    return [];
  }
  const users = response.data.users;
  return users;
}

export function greeting(user: User): string {
  return "Hello, " + user.name + "!";
}
`;

export const EXAMPLES: readonly Example[] = [
  {
    name: 'Cart (Python)',
    file: 'cart.py',
    language: 'python',
    text: CART,
    cursor: 'amount = 0',
    edit: { from: 'def total', instruction: 'rename amount to subtotal' },
  },
  {
    name: 'Numbers (Python)',
    file: 'numbers.py',
    language: 'python',
    text: NUMBERS,
    cursor: '"""Whether a number is odd."""',
    edit: { from: 'def is_positive', instruction: 'rename number to value' },
  },
  {
    name: 'API (TypeScript)',
    file: 'api.ts',
    language: 'typescript',
    text: API,
    cursor: 'const users = response.data.users;',
    edit: { from: 'export async function loadUsers', instruction: 'rename users to found' },
  },
];

/** All of them in one: what a longer file costs. */
export const LONG_TEXT = EXAMPLES.filter(({ language }) => language === 'python')
  .map(({ text }) => text)
  .join('\n\n');
