"""A shopping cart."""


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
